"""A graph beside the weights of a published folder: it predicts without torch, which takes seconds to start."""

from pathlib import Path

import torch

from endotransfer.engine.model_folder import load_model
from endotransfer.engine.read_model import read_model_weights
from endotransfer.errors import CheckpointError
from endotransfer.export.bundle import graph_of, input_size, write_graph_config
from endotransfer.export.check import Check, check_against_torch
from endotransfer.io import write_atomically
from endotransfer.predict.onnx_predictor import GRAPH, WEIGHTS, OnnxPredictor
from endotransfer.predict.predictor import Predictor


def add_graph(folder: Path) -> Check:
    """Write model.onnx to a model folder, which has the weights already, and compare what both predict."""
    model = load_model(folder)
    shape = input_size(model)
    whole = graph_of(model, shape, None, optimise=False)
    from endotransfer.export.outside_weights import weights_outside  # here: it needs onnx, and says so above

    path = folder / WEIGHTS
    graph = weights_outside(whole, path.read_bytes(), read_model_weights(path, model.info.sha256))
    content = bytes(graph.SerializeToString())
    write_atomically(folder / GRAPH, content, CheckpointError)
    write_graph_config(folder, model.info, content, None, None, WEIGHTS)
    check = check_against_torch(OnnxPredictor(folder), Predictor(model, torch.device("cpu")), shape)
    write_graph_config(folder, model.info, content, None, check, WEIGHTS)
    return check
