// @ts-check
/**
 * The command with which a person or a program works on the tasks of `npm run eval -- --agent manual`. It is copied to a folder
 * of its own, next to a file with the address of the evaluation, so it uses nothing but Node.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const USAGE = `node tools.mjs task                     shows the task
node tools.mjs list [NAME…]             lists the tools, or shows the full definition of some
node tools.mjs call NAME [JSON]         calls a tool with these arguments: one turn
node tools.mjs call NAME [JSON] --stdin FIELD
                                        the same, with all of stdin as the argument FIELD
node tools.mjs turn                     makes several calls in one turn; stdin is a JSON array of
                                        {"name": NAME, "arguments": {…}}
node tools.mjs finish ANSWER            ends the task with this answer; "task" then shows the next one
`;
const MAX_COMPLETE = 3;

/**
 * Sends a request and prints the answer of the evaluation.
 * @param {Record<string, unknown>} request
 * @returns {Promise<any>}
 */
async function ask(request) {
  const socket = connect(readFileSync(join(import.meta.dirname, 'address'), 'utf8'));
  socket.write(`${JSON.stringify(request)}\n`);
  return JSON.parse(await text(socket));
}

/** @param {{ answers?: { name: string, text: string, isError: boolean }[], message?: string }} reply */
function print({ answers = [], message }) {
  for (const [index, { isError, name, text: shown }] of answers.entries()) {
    if (answers.length > 1) {
      console.log(`--- answer ${index + 1} of ${answers.length}: ${name}`);
    }
    console.log(isError ? `error: ${shown}` : shown);
  }
  if (message !== undefined) {
    console.log(message);
  }
}

/** @param {readonly string[]} names */
async function list(names) {
  const { tools, instructions } = await ask({ type: 'list' });
  for (const instruction of instructions) {
    console.log(`${instruction}\n`);
  }
  const isComplete = names.length > 0 || tools.length <= MAX_COMPLETE;
  for (const tool of tools) {
    if (isComplete && (names.length === 0 || names.includes(tool.name))) {
      console.log(`${JSON.stringify(tool, undefined, 2)}\n`);
    } else if (!isComplete) {
      console.log(`${tool.name}(${Object.keys(tool.inputSchema.properties ?? {}).join(', ')}): ${tool.description}`);
    }
  }
}

/** @param {readonly string[]} words */
async function callOf([name = '', ...rest]) {
  const at = rest.indexOf('--stdin');
  const [json = '{}'] = at === 0 ? [] : rest;
  const field = at === -1 ? undefined : rest[at + 1];
  return { name, arguments: { ...JSON.parse(json), ...(field ? { [field]: await text(process.stdin) } : {}) } };
}

const [command, ...words] = process.argv.slice(2);
try {
  if (command === 'task') {
    print(await ask({ type: 'task' }));
  } else if (command === 'list') {
    await list(words);
  } else if (command === 'call' && words.length > 0) {
    print(await ask({ type: 'turn', calls: [await callOf(words)] }));
  } else if (command === 'turn') {
    print(await ask({ type: 'turn', calls: JSON.parse(await text(process.stdin)) }));
  } else if (command === 'finish') {
    print(await ask({ type: 'finish', answer: words.join(' ') }));
  } else {
    console.log(USAGE);
  }
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  const hasEnded = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET'].includes(code ?? '');
  console.error(hasEnded ? 'The evaluation has ended.' : message);
  process.exitCode = 1;
}
