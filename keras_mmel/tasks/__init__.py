"""Tasks of keras-hub: a model together with what prepares its inputs."""
