"""Random states in saved files, so that a resumed run draws what it would have.

Keras saves the weights of Dropout and its like but not the state of their seed
generators: without it, a run that goes on from a file repeats earlier masks.
"""

import keras


class SavedRandomStates(keras.Model):
    """Stores the random states of `self.model` beside the own variables.

    Attributes:
        model: The wrapped model.
    """

    def save_own_variables(self, store):
        super().save_own_variables(store)
        for index, state in enumerate(self._random_states()):
            store[f"random_state_{index}"] = state

    def load_own_variables(self, store):
        names = [name for name in store.keys() if name.startswith("random")]
        super().load_own_variables(
            {name: store[name] for name in store.keys() if name not in names}
        )
        for index, state in enumerate(self._random_states()):
            if f"random_state_{index}" in names:
                state.assign(store[f"random_state_{index}"])

    def _random_states(self):
        """Variables of the wrapped model that are not weights."""
        saved = {id(weight) for weight in self.model.weights}
        return [
            variable
            for variable in self.model.non_trainable_variables
            if id(variable) not in saved
        ]
