"""Scores of pictures: Fashion-MNIST, photographs of garments, calibration."""
