"""What surrounds the ViT: pictures in, preprocessing, calibration."""
