"""An array whose exchange has a side effect, for tests of arguments that change each other."""


class Exporter:
    """An array that exports its memory by DLPack, and calls a function before."""

    def __init__(self, array, action):
        self.array, self.action = array, action

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        self.action()
        return self.array.__dlpack__(**options)
