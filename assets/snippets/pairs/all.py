# The mean accuracy by number of pairs, and how far seeds and numbers of pairs lie apart, with numpy alone.
import numpy as np

RUNS = []  # pairs, seed, test accuracy: a row a run

# %% Means over seeds.
runs = np.array(RUNS)
pairs = np.unique(runs[:, 0])
by_pairs = [runs[runs[:, 0] == one, 2] for one in pairs]
means = np.array([one.mean() for one in by_pairs])
for one, accuracies, mean in zip(pairs, by_pairs, means):
    print(int(one), "pairs:", accuracies, "mean", mean)
print("largest difference between seeds:", max(one.max() - one.min() for one in by_pairs))
found = {"means": means, "gain": means.max() - means.min()}
