"""What whoever runs the app for others asks of it: is it well, what does it do, whom does it let in."""
