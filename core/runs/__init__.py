"""Training that the app starts or shows: the process, its history, what an epoch takes."""
