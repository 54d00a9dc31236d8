"""What the runtime refuses, in the order in which one process can be asked; two devices are there."""

import json
import os

import torch

from callbacks.xla import XLAError, hardware, start


def said(devices=None):
    try:
        return start(devices)
    except XLAError as error:
        return str(error)


found = {}
os.environ["WORLD_SIZE"] = "2"
found["torchrun"] = said()
del os.environ["WORLD_SIZE"]
found["too many"] = said(5)
early = torch.ones(1, device="xla")
found["too late"] = said()
found["one"] = said(1)
found["another number"] = said(2)
found["hardware"] = hardware.describe(1)
# What torch_xla is told on a TPU VM; nothing is started any more.
os.environ |= {"PJRT_DEVICE": "TPU", "TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v4-8", "TPU_WORKER_ID": "0"}
os.environ |= {"TPU_PROCESS_BOUNDS": "1,1,1", "TPU_CHIPS_PER_PROCESS_BOUNDS": "2,2,1", "TPU_WORKER_HOSTNAMES": "here"}
found["tpu"] = hardware.describe(4)
print(json.dumps(found))
