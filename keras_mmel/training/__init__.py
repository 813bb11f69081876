"""What a Keras trainer has to learn to take groups of views."""
