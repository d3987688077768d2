"""Modules around the ViT: pictures in, preprocessing, calibration."""
