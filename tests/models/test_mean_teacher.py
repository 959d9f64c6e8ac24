"""The mean teacher follows its student and nothing else."""

from typing import cast

import pytest
import torch
from torch import nn

from endotransfer.models.mean_teacher import MeanTeacher


@pytest.fixture
def student() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))


def move(module: nn.Module, value: float) -> None:
    """Fill every float of a module with a value, and count a batch."""
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            tensor.fill_(value) if tensor.is_floating_point() else tensor.add_(1)


def test_the_first_update_forgets_the_starting_weights(student: nn.Sequential) -> None:
    teacher = MeanTeacher(student, 0.9)
    move(student, 7.0)
    teacher.update(student, 0)
    assert all((p == 7).all() for p in teacher.module.parameters())


def test_it_is_the_mean_of_students_until_the_momentum_takes_over(student: nn.Sequential) -> None:
    teacher = MeanTeacher(student, 0.75)
    _, norm = cast(nn.Sequential, teacher.module)
    assert isinstance(norm, nn.BatchNorm2d) and norm.running_mean is not None and norm.running_var is not None
    expected = 0.0
    for step, value in enumerate([4.0, 0.0, 8.0, 0.0, 16.0, 3.0]):
        move(student, value)
        teacher.update(student, step)
        momentum = min(step / (step + 1), 0.75)
        expected = momentum * expected + (1 - momentum) * value
        for tensor in [*teacher.module.parameters(), norm.running_mean, norm.running_var]:
            assert tensor.flatten().tolist() == pytest.approx([expected] * tensor.numel())
    assert norm.num_batches_tracked == student[1].num_batches_tracked == 6


def test_it_stays_in_evaluation_mode_and_without_gradients(student: nn.Sequential) -> None:
    teacher = MeanTeacher(student)
    nn.ModuleDict({"student": student, "teacher": teacher}).train()
    output = teacher(torch.randn(1, 1, 2, 2, requires_grad=True))
    assert student.training and not any(module.training for module in teacher.module.modules())
    assert not output.requires_grad
    assert not any(p.requires_grad for p in teacher.parameters())


def test_it_is_a_copy_that_is_saved_with_the_state(student: nn.Sequential) -> None:
    teacher = MeanTeacher(student)
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    move(student, 3.0)
    assert all(torch.equal(value, before[name]) for name, value in teacher.state_dict().items())
    assert "module.0.weight" in before


def test_another_architecture_is_refused(student: nn.Sequential) -> None:
    with pytest.raises(ValueError):
        MeanTeacher(student).update(nn.Linear(1, 1), 0)


def test_after_a_move_to_another_precision_it_follows_the_tensors_that_are_there_now(student: nn.Sequential) -> None:
    both = nn.ModuleDict({"student": student, "teacher": MeanTeacher(student)})
    teacher = cast(MeanTeacher, both["teacher"])
    teacher.update(student, 0)
    both.double()
    move(student, 5.0)
    teacher.update(student, 0)
    floats = [tensor for tensor in teacher.state_dict().values() if tensor.is_floating_point()]
    assert all(tensor.dtype == torch.float64 and (tensor == 5).all() for tensor in floats)


def test_another_student_is_followed_as_well(student: nn.Sequential) -> None:
    teacher, other = MeanTeacher(student), nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    teacher.update(student, 0)
    move(other, 2.0)
    teacher.update(other, 0)
    assert all((p == 2).all() for p in teacher.module.parameters())
