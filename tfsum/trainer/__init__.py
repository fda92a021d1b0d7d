"""What `fit` and `evaluate` of the models do under TensorFlow."""
