"""How far an image is from those that a model was trained for: fitted once, asked of every image that is predicted."""
