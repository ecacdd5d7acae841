"""The report's section on M/TCP, from a small comparison."""

from tcpdynamics.apps.report.mtcp import STEP, section
from tcpdynamics.apps.report.steps import SECONDS
from tcpdynamics.validation.comparisons import MtcpVsPackets
from tcpdynamics.validation.comparisons.mtcp import STATEMENTS


def test_the_section_has_the_table_the_statements_and_its_step():
    made = section(MtcpVsPackets(rates=(1e6,), lists=("cumulative",), replications=3).run())
    assert STEP in SECONDS
    assert all(text in made.html for text in STATEMENTS.values())
    assert (
        "0.80" in made.html
        and "figure-mtcp" in made.html
        and "nan" not in made.html.lower().split("plotly")[0]
    )
    assert "statements on Table 4 hold" in made.answer
