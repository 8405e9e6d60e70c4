"""examples/shapes/models.json, which tools/model_shapes.py writes: it holds shapes of non-empty tensors."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("model_shapes", ROOT / "tools" / "model_shapes.py")
model_shapes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(model_shapes)


def test_shapes_are_lists_of_positive_extents():
    models = model_shapes.read(model_shapes.FILE)
    assert {"resnet50", "gpt2-xl"} <= set(models)
    for name, shapes in models.items():
        assert shapes, name
        for shape in shapes:
            assert shape and all(type(extent) is int and extent > 0 for extent in shape), (name, shape)


def test_every_model_of_the_file_can_be_regenerated():
    assert list(model_shapes.MODELS) == list(model_shapes.read(model_shapes.FILE))


def test_reading_and_writing_changes_nothing(tmp_path):
    copy = tmp_path / "models.json"
    model_shapes.write(model_shapes.read(model_shapes.FILE), copy)
    assert copy.read_text() == pathlib.Path(model_shapes.FILE).read_text()
