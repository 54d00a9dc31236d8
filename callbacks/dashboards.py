"""The curated dashboards of TensorBoard's Custom Scalars tab: which curves belong into one chart.

writer.add_custom_scalars(LAYOUT)
# http://localhost:6006/#custom_scalars
"""

MULTILINE = "Multiline"  # TensorBoard's word for a chart of the tags that these patterns match

LAYOUT = {
    "Quality": {
        "loss per epoch": [MULTILINE, ["train/loss_epoch", "valid/loss"]],
        "accuracy and macro F1": [MULTILINE, ["valid/accuracy", "valid/f1"]],
        "training loss per step": [MULTILINE, ["train/loss$", "train/loss_raw"]],
    },
    "Speed": {
        "seconds per epoch": [MULTILINE, ["time/train_epoch", "time/valid_epoch", "time/data_wait", "time/compile"]],
        "images per second": [MULTILINE, ["throughput/.*"]],
    },
    "Optimisation": {
        "learning rates": [MULTILINE, ["lr/.*"]],
        "momenta": [MULTILINE, ["momentum/.*"]],
        "norm of the gradient": [MULTILINE, ["train/gradient_norm"]],
    },
    "Hardware": {
        "memory in GB": [MULTILINE, ["memory/.*"]],
        "XLA": [MULTILINE, ["xla/compiles.*", "xla/transfers.*"]],
    },
}
