"""The report's section on logistic control in packets."""

from tcpdynamics.apps.report.logistic_packets import STEP, section
from tcpdynamics.apps.report.steps import SECONDS


def test_the_section_has_its_figure_its_statements_and_its_step():
    made = section(lambda name, share: None)
    text = made.html.split("<script")[0] + made.html.split("</script>")[-1]
    assert STEP in SECONDS and "figure-logistic_packets" in made.html
    assert "Fig. 7, fairness" in text and 'class="text fails"' in text and "nan" not in text
    assert "statements of its paper" in made.answer
