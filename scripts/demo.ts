/**
 * `npm run demo`: the main use case, with nothing mocked. A real MCP client starts the built command, whose server file names
 * two real MCP servers. Code lists a folder through one, keeps a variable, and stores its findings in the other. Then it groups a
 * table of 2,000 rows, which the client never sees, and draws a chart. Exits with 0 only if the memory server's file then holds what
 * the notes say, and the sums are right.
 */

import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createWorkspace, type Workspace } from './demo/workspace.ts';

const COMMAND = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

const LIST_THE_FOLDER = `\
listing = await mcp_filesystem.list_directory(path=".")
names = sorted(line.removeprefix("[FILE] ") for line in listing.splitlines())
names`;

const STORE_WHAT_WAS_FOUND = `\
import asyncio

texts = await asyncio.gather(*[mcp_filesystem.read_text_file(path=name) for name in names])
todos = {name: [line for line in text.splitlines() if "TODO" in line] for name, text in zip(names, texts)}
graph = await mcp_memory.create_entities(
    entities=[{"name": name, "entityType": "note", "observations": found} for name, found in todos.items()]
)
print(f"Stored {len(graph.entities)} notes: {', '.join(note.name for note in graph.entities)}.")
print(f"{sum(map(len, todos.values()))} tasks are open, most of them in {max(todos, key=lambda name: len(todos[name]))}.")`;

/** Nothing is installed for it: pandas and Matplotlib draw the chart if the engine's Python has them. */
const GROUP_A_TABLE = `\
import csv
from collections import Counter
from importlib.util import find_spec

text = await mcp_filesystem.read_text_file(path="../sales/sales.csv")
if find_spec("pandas") and find_spec("matplotlib"):
    import io
    import matplotlib.pyplot as plt
    import pandas as pd

    totals = pd.read_csv(io.StringIO(str(text))).groupby("region")["amount"].sum().to_dict()
    plt.bar(list(totals), list(totals.values()))
    plt.show()
else:
    totals = Counter()
    for sale in csv.DictReader(str(text).splitlines()):
        totals[sale["region"]] += int(sale["amount"])
    for region, total in totals.most_common():
        print(f"{region:<6} {'█' * (total * 30 // max(totals.values()))}")
dict(sorted(totals.items()))`;

/** The first cell may have to wait for the image; the bridge answers after 45 s and keeps pulling. */
const REQUEST_TIMEOUT_MS = 120_000;
const MAX_ROUNDS_OF_PULL = 20;

async function main(): Promise<void> {
  const workspace = createWorkspace();
  const client = new Client({ name: 'demo', version: '1.0.0' });
  try {
    console.log(`A client starts: node dist/cli.js  (server file: ${workspace.stateDir}/demo.json)`);
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [COMMAND], env: bridgeEnvironment(workspace) }),
    );
    const { tools } = await client.listTools();
    console.log(`It finds: ${tools.map(({ name }) => name).join(', ')}`);
    await runCell(client, LIST_THE_FOLDER, ['filesystem']);
    await runCell(client, STORE_WHAT_WAS_FOUND, ['memory']);
    checkGraph(workspace);
    const answer = await runCell(client, GROUP_A_TABLE, ['filesystem']);
    checkTotals(workspace, answer);
    await showTokens(workspace, answer);
  } finally {
    await client.close();
    workspace.remove();
  }
}

/** The user's environment and settings, but without the user's server files. */
function bridgeEnvironment(workspace: Workspace): Record<string, string> {
  const set = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    MCP_BRIDGE_LOG_LEVEL: 'WARNING',
    MCP_BRIDGE_PACKAGES: 'off',
    ...Object.fromEntries(set),
    MCP_SERVERS_CONFIG: '',
    MCP_BRIDGE_CONFIG_SOURCES: `${workspace.stateDir}/demo.json`,
    MCP_BRIDGE_OUTPUT_MODE: 'compact',
    MCP_BRIDGE_STATE_DIR: workspace.stateDir,
  };
}

/** Runs a cell, shows both sides, and returns the answer. Throws if that is an error. */
async function runCell(client: Client, code: string, servers: readonly string[]): Promise<string> {
  console.log(`\n> run_python  servers=${JSON.stringify(servers)}\n${indent(code)}`);
  for (let round = 1; ; round += 1) {
    const { content, isError } = await client.callTool(
      { name: 'run_python', arguments: { code, servers } },
      { timeout: REQUEST_TIMEOUT_MS, onprogress: ({ message }) => message && console.log(`… ${message}`) },
    );
    const text = content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
    console.log(`< ${isError === true ? 'failure' : 'answer'}\n${indent(text)}`);
    if (isError !== true) {
      return text;
    }
    if (!text.includes('IMAGE_PULLING') || round === MAX_ROUNDS_OF_PULL) {
      throw new Error('the cell failed');
    }
  }
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ');
}

/** Compares the memory server's file with the notes. */
function checkGraph({ notes, readGraph }: Workspace): void {
  const expected = Object.entries(notes).map(([name, text]) => ({
    name,
    entityType: 'note',
    observations: text.split('\n').filter((line) => line.includes('TODO')),
  }));
  const stored = readGraph().map(({ name, entityType, observations }) => ({ name, entityType, observations }));
  if (!isDeepStrictEqual(stored, expected)) {
    throw new Error(`the memory server's file has other contents: ${JSON.stringify(stored)}`);
  }
  console.log(`\nChecked: the memory server's file holds these ${stored.length} notes.`);
}

function checkTotals({ totals }: Workspace, answer: string): void {
  for (const [region, total] of Object.entries(totals)) {
    if (!answer.includes(`'${region}': ${total}`)) {
      throw new Error(`the answer has another sum for ${region} than ${total}`);
    }
  }
  console.log(`\nChecked: the sums are those of the table.`);
}

/** Only what can be counted: without code, the table itself would have been the result of a call. Definitions and images are left out. */
async function showTokens({ sales }: Workspace, answer: string): Promise<void> {
  const { encode } = await import('gpt-tokenizer/encoding/o200k_base');
  const [direct, code, result] = [sales, GROUP_A_TABLE, answer].map((text) =>
    encode(text).length.toLocaleString('en-US'),
  );
  console.log(`Tokens (o200k_base): the table has ${direct}; the code has ${code}, and its answer ${result}.`);
}

try {
  await main();
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
