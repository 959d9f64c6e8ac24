"""The paper's three ideas as pure functions and small state: pseudo-labels, centroids, adversarial output."""
