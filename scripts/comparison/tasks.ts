/**
 * The same tasks done two ways: by an agent that calls tools itself, and as code. Every step is what a capable model would
 * write; neither side is padded. Both ways must reach the same result, which is checked.
 */

/** A call that the agent makes directly. */
export interface DirectCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The answers to the calls of one turn, as the agent reads them. */
export type TurnAnswers = readonly string[];

export interface ComparedTask {
  readonly title: string;
  /** What the task shows. */
  readonly remark: string;
  /**
   * The agent's turns. Called with all answers so far, it returns the calls of the next turn; no calls mean that the task is
   * done.
   */
  readonly direct: (answers: readonly TurnAnswers[]) => readonly DirectCall[];
  /** The agent's final result, from everything it has read. */
  readonly conclude: (answers: readonly TurnAnswers[]) => string;
  /** Cells, one per turn. The last one ends with the result. */
  readonly cells: readonly string[];
  readonly servers: readonly string[];
  /** Whether this is the task in the picture in README.md. */
  readonly isPictured?: true;
}

const LOG_COUNT = 40;
const LINES_PER_LOG = 60;
const CHAIN_LENGTH = 12;

/** The files that the tasks read, the same in every run. */
export function logFiles(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: LOG_COUNT }, (_, index) => [logName(index), logText(index)]));
}

function logName(index: number): string {
  return `app-${String(index).padStart(2, '0')}.log`;
}

function logText(file: number): string {
  const lines = Array.from({ length: LINES_PER_LOG }, (_, line) => {
    const isError = (file * 7 + line * 3) % 23 === 0;
    const minute = String(line).padStart(2, '0');
    return `2026-11-20T10:${minute}:00Z ${isError ? 'ERROR' : 'INFO'} worker ${file % 5} handled request ${file * 100 + line}`;
  });
  return `${lines.join('\n')}\n`;
}

const file = (tool: string, args: Record<string, unknown>): DirectCall => ({
  server: 'filesystem',
  tool,
  arguments: args,
});
const sum = (a: number, b: number): DirectCall => ({ server: 'everything', tool: 'get-sum', arguments: { a, b } });
const numberIn = (text: string): number => Number(/is (-?\d+)/.exec(text)?.[1]);
const count = (text: string, word: string): number => text.split(word).length - 1;

export const TASKS: readonly ComparedTask[] = [
  {
    title: 'read one small file',
    remark: 'code does not pay off: one call, and its whole answer is needed',
    direct: ({ length }) => (length === 0 ? [file('read_text_file', { path: 'garden.md' })] : []),
    conclude: ([[text = ''] = []]) => text,
    cells: ['print(await mcp_filesystem.read_text_file(path="garden.md"))'],
    servers: ['filesystem'],
  },
  {
    title: 'read three small files at once',
    remark: 'break-even: parallel calls are one turn either way',
    direct: ({ length }) =>
      length === 0 ? ['garden.md', 'house.md', 'travel.md'].map((path) => file('read_text_file', { path })) : [],
    conclude: ([texts = []]) => texts.join(''),
    cells: [
      `import asyncio
names = ["garden.md", "house.md", "travel.md"]
print("".join(await asyncio.gather(*[mcp_filesystem.read_text_file(path=name) for name in names])))`,
    ],
    servers: ['filesystem'],
  },
  {
    title: 'use a tool for the first time',
    remark: 'without the definition in its context, the agent first looks up the tool: one more turn',
    direct: ({ length }) => (length === 0 ? [sum(2, 3)] : []),
    conclude: ([[text = ''] = []]) => String(numberIn(text)),
    cells: [
      'print(await runtime.search_tool_docs("add two numbers", limit=2))',
      'import re\nint(re.search(r"is (-?\\d+)", await mcp_everything.get_sum(a=2, b=3))[1])',
    ],
    servers: ['everything'],
  },
  {
    title: `find the errors in ${LOG_COUNT} log files`,
    remark: 'a lot is read, and little of it is needed',
    direct: (answers) => {
      if (answers.length === 0) {
        return [file('search_files', { path: '.', pattern: '*.log' })];
      }
      return answers.length === 1 ? pathsIn(answers[0]?.[0] ?? '').map((path) => file('read_text_file', { path })) : [];
    },
    conclude: ([, texts = []]) => String(texts.reduce((total, text) => total + count(text, ' ERROR '), 0)),
    cells: [
      `import asyncio

files = mcp_filesystem
logs = await files.search_files(path=".", pattern="*.log")
texts = await asyncio.gather(*[
    files.read_text_file(path=log) for log in logs.splitlines()
])
sum(text.count(" ERROR ") for text in texts)`,
    ],
    servers: ['filesystem'],
    isPictured: true,
  },
  {
    title: `${CHAIN_LENGTH} calls that each need the result of the one before`,
    remark: 'one turn of the model for each call, or one for all',
    direct: (answers) => {
      const last = answers.at(-1)?.[0];
      return answers.length === CHAIN_LENGTH ? [] : [sum(last === undefined ? 1 : numberIn(last), answers.length)];
    },
    conclude: (answers) => String(numberIn(answers.at(-1)?.[0] ?? '')),
    cells: [
      `import re
total = 1
for step in range(${CHAIN_LENGTH}):
    total = int(re.search(r"is (-?\\d+)", await mcp_everything.get_sum(a=total, b=step))[1])
total`,
    ],
    servers: ['everything'],
  },
  {
    title: 'copy data from one server to another',
    remark: 'the agent copies the data word for word, or code does',
    direct: (answers) => {
      if (answers.length === 0) {
        return ['garden.md', 'house.md', 'travel.md'].map((path) => file('read_text_file', { path }));
      }
      if (answers.length > 1) {
        return [];
      }
      const entities = ['garden.md', 'house.md', 'travel.md'].map((name, index) => ({
        name,
        entityType: 'note',
        observations: (answers[0]?.[index] ?? '').trim().split('\n'),
      }));
      return [{ server: 'memory', tool: 'create_entities', arguments: { entities } }];
    },
    conclude: ([texts = []]) => String(texts.reduce((total, text) => total + text.trim().split('\n').length, 0)),
    cells: [
      `import asyncio
names = ["garden.md", "house.md", "travel.md"]
texts = await asyncio.gather(*[mcp_filesystem.read_text_file(path=name) for name in names])
entities = [{"name": n, "entityType": "note", "observations": t.strip().splitlines()} for n, t in zip(names, texts)]
stored = await mcp_memory.create_entities(entities=entities)
sum(len(entity.observations) for entity in stored.entities)`,
    ],
    servers: ['filesystem', 'memory'],
  },
];

function pathsIn(listing: string): string[] {
  return listing.split('\n').filter((line) => line !== '');
}
