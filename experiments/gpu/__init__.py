"""A GPU's first three quarters of an hour, on a machine without TensorFlow."""
