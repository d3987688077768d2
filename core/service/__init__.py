"""Services for whoever runs the app for others: health, measurements, and access."""
