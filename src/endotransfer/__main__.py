"""`python -m endotransfer`, for torchrun and for places without the `endotransfer` command."""

from endotransfer.cli.main import main

if __name__ == "__main__":
    main()
