"""Random states in saved files, so that a resumed run draws what it would have.

Keras saves the weights of Dropout and its like but not the state of their seed
generators: without it, a run that goes on from a file repeats earlier masks.
"""

import keras
from keras import ops


class SavedRandomStates(keras.Model):
    """Stores the random states of `self.model` beside the own variables.

    Attributes:
        model: The wrapped model.
    """

    def save_own_variables(self, store):
        own = {}
        super().save_own_variables(own)
        for name, value in own.items():
            if name != self._lambda_name():
                store[name] = value
        for index, state in enumerate(self._random_states()):
            store[f"random_state_{index}"] = state

    def load_own_variables(self, store):
        names = [name for name in store.keys() if name.startswith("random")]
        own = {name: store[name] for name in store.keys() if name not in names}
        if self._lambda_name() is not None:
            own[self._lambda_name()] = ops.convert_to_tensor(self._lambda_p)
        super().load_own_variables(own)
        for index, state in enumerate(self._random_states()):
            if f"random_state_{index}" in names:
                state.assign(store[f"random_state_{index}"])

    def _lambda_name(self):
        """Under which name Keras stores `lambda_p`: the first own variable.

        It is a setting, kept with the objective in the config of a model file.
        Weights that are loaded must not change it.
        """
        return None if self._lambda_p is None else "0"

    def _random_states(self):
        """Variables of the wrapped model that are not weights."""
        saved = {id(weight) for weight in self.model.weights}
        return [
            variable
            for variable in self.model.non_trainable_variables
            if id(variable) not in saved
        ]
