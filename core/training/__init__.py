"""One loop for every model; a task file a model. Needs only torch, numpy, pandas, pyarrow, safetensors, tqdm."""
