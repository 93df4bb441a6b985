import math

for expression, value in [(f"{n} ** 2 + 1", n * n + 1) for n in range(16)] + [("sqrt(2)", math.sqrt(2)), ("7 / 2", 3.5), ("2 ** 70", 2**70)]:
    answer = await mcp_calculator.calculate(expression=expression)
    assert float(str(answer)) == value, (expression, answer)
try:
    answer = await mcp_calculator.calculate(expression="1 / 0")
    assert "zero" in str(answer), answer
except ToolError as error:
    assert "zero" in str(error)
