"""Clusters of sentences, and the orders in which the paper puts them into a prompt.

Alessio and others, "Improving RAG Systems via Sentence Clustering and Reordering" (2024).
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

Float = NDArray[np.float64]


def clusters(vectors: Float) -> list[list[int]]:
    """Hierarchical clusters by cosine, as many as the silhouette likes best, each in aggregation order."""
    distance = pdist(vectors, "cosine")
    tree = linkage(distance, "average")
    cuts = [fcluster(tree, number, "maxclust") for number in range(2, len(vectors))]
    best = max(cuts, key=lambda cut: silhouette(squareform(distance), cut))
    leaves = leaves_list(tree).tolist()
    return [[leaf for leaf in leaves if best[leaf] == name] for name in dict.fromkeys(best[leaves].tolist())]


def silhouette(distance: Float, cluster: NDArray[np.int64]) -> float:
    """Mean of (b − a) / max(a, b): a to one's own cluster, b to the nearest other; 0 for one alone."""
    total = 0.0
    for index, own in enumerate(cluster.tolist()):
        others = np.arange(len(cluster)) != index
        distances = {name: distance[index, (cluster == name) & others] for name in set(cluster.tolist())}
        mine = distances.pop(own)
        if len(mine):
            a, b = mine.mean(), min(other.mean() for other in distances.values())
            total += (b - a) / max(a, b, 1e-12)
    return total / len(cluster)


def ping_pong(items: list[list[int]]) -> list[list[int]]:
    """The best first, the second best last, and so on: the worst stand in the middle."""
    return items[::2] + items[1::2][::-1]


def orders(groups: list[list[int]], nearness: Float, rng: random.Random) -> dict[str, list[list[int]]]:
    """The paper's six orders of clusters: random, by size, by nearness to the query, and ping-pong.

    A cluster is as near as the nearest of its sentences (footnote 8).
    """
    near = sorted(groups, key=lambda cluster: -nearness[cluster].max())
    return {
        "A random": rng.sample(groups, len(groups)),
        "B largest first": sorted(groups, key=lambda cluster: -len(cluster)),
        "C nearest last": near[::-1],
        "D nearest first": near,
        "E ping-pong": ping_pong(near),
        "F pong-ping": ping_pong(near)[::-1],
    }


def within(score: Float, rng: random.Random) -> dict[str, Callable[[list[int]], list[int]]]:
    """The paper's four orders of the sentences of a cluster; the visiting order is that of the documents."""
    return {
        "A random": lambda cluster: rng.sample(cluster, len(cluster)),
        "B best first": lambda cluster: sorted(cluster, key=lambda index: -score[index]),
        "C visiting": sorted,
        "D aggregation": list,
    }


def bags_of_words(texts: list[str]) -> Float:
    """A vector a text: how often it holds each word; stands for the embeddings of a model."""
    words = sorted({word for text in texts for word in text.lower().split()})
    return np.array([[float(text.lower().split().count(word)) for word in words] for text in texts])


def nearness_to(query: Float, vectors: Float) -> Float:
    """The cosine of each vector with the query's."""
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return vectors @ query / np.maximum(norms, 1e-12)
