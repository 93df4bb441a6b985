/** An agent that knows the solutions. It shows that every task can be done in both modes, and what a perfect model would need. */
import type { Agent, GivenTask, Mode } from '../run.ts';
import { codeSolution, type SolutionContext } from './code.ts';
import { DIRECT_SOLUTIONS } from './direct.ts';
import { tableSolution } from './tables.ts';

export function createReferenceAgent(mode: Mode, context: SolutionContext): Agent {
  return async (task) => {
    await task.definitions();
    task.transcript.start(Date.now());
    const answer = mode === 'direct' ? await solveDirectly(task, context) : await solveInCode(task, context);
    return `ANSWER: ${answer}`;
  };
}

async function solveDirectly({ call, id }: GivenTask, context: SolutionContext): Promise<string> {
  const solve = DIRECT_SOLUTIONS[id];
  if (solve === undefined) {
    throw new Error(`There is no solution for the task ${id}.`);
  }
  return solve(async (...calls) => (await Promise.all(calls.map(call))).map(({ text }) => text), context);
}

async function solveInCode({ call, id }: GivenTask, context: SolutionContext): Promise<string> {
  const { text } = await call({
    name: 'run_python',
    arguments: { ...(tableSolution(id) ?? codeSolution(id, context)) },
  });
  return text;
}
