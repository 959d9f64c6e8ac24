"""A written folder becomes a repository of a model hub, through huggingface_hub."""

from pathlib import Path

from endotransfer.errors import CheckpointError, ConfigError, shortened


def upload_folder(folder: Path, repository: str, *, private: bool = False) -> str:
    """Create `repository` ("owner/name") where it is not there, and commit the folder to it; returns its address."""
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise ConfigError("--to needs huggingface_hub; install endotransfer[hub].") from None
    api = HfApi()
    try:
        address = api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(repo_id=repository, folder_path=folder, commit_message="A model of endotransfer")
    except Exception as reason:  # the library has exceptions of its own, and those of what it asks the network with
        why = shortened(" ".join(str(reason).split()) or type(reason).__name__, 200).rstrip(".")
        raise CheckpointError(
            f"{folder} is written but was not uploaded to {repository} ({why}); check the name and the network, or log "
            "in with `hf auth login`."
        ) from None
    return str(address)
