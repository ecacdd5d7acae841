"""The dumbbell of the packet benchmark in ns-2, without a single trace object, timed from outside."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from .clocks import Taken, once

#: What the script is given, in this order. It prints how many segments were acknowledged.
TCL = """
foreach {agent sink flows rate lo hi buffer size window duration seed} $argv break
remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random $seed
set ns [new Simulator]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $rate 0.01 DropTail
$ns queue-limit $r1 $r2 $buffer
$ns queue-limit $r2 $r1 $buffer
set rng [new RNG]
$rng seed $seed
for {set i 0} {$i < $flows} {incr i} {
    set s [$ns node]
    set d [$ns node]
    set access [expr ($lo + ($hi - $lo) * $i / ($flows - 1.0)) / 4 - 0.005]
    $ns duplex-link $s $r1 1000000000 $access DropTail
    $ns duplex-link $r2 $d 1000000000 $access DropTail
    foreach {a b} [list $s $r1 $r1 $s $r2 $d $d $r2] { $ns queue-limit $a $b 1000000 }
    set tcp($i) [new $agent]
    set to [new $sink]
    $tcp($i) set useHeaders_ false
    $tcp($i) set packetSize_ $size
    $tcp($i) set window_ $window
    $ns attach-agent $s $tcp($i)
    $ns attach-agent $d $to
    $ns connect $tcp($i) $to
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$rng uniform 0 1] "$ftp start"
}
proc finish {} {
    global tcp flows
    set acked 0
    for {set i 0} {$i < $flows} {incr i} { incr acked [$tcp($i) set ack_] }
    puts $acked
    exit 0
}
$ns at $duration finish
$ns run
"""


def installed() -> bool:
    """Is there a program `ns`?"""
    return shutil.which("ns") is not None


def version() -> str:
    """What it calls itself."""
    done = subprocess.run(["ns"], input="puts [ns-version]\n", capture_output=True, text=True, check=False)
    return f"ns-{done.stdout.strip().removeprefix('%').strip()}"


def run(*arguments: object) -> tuple[Taken, int]:
    """What one run took, start-up included, and the segments acknowledged in it."""
    with tempfile.TemporaryDirectory(prefix="ns2-") as folder:
        script = Path(folder) / "dumbbell.tcl"
        script.write_text(TCL)
        command = ["ns", str(script), *map(str, arguments)]
        taken, done = once(lambda: subprocess.run(command, capture_output=True, text=True, timeout=300, check=True))
        return taken, int(done.stdout)
