/**
 * A temporary folder like that of a user: three notes, and a server file that offers them through the real filesystem server,
 * and a knowledge graph through the real memory server. Used by the demo and by the tests of documented examples.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface GraphEntity {
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
}

export interface Workspace {
  /** The folder of server files, for `MCP_BRIDGE_STATE_DIR`. */
  readonly stateDir: string;
  /** The notes, by file name. */
  readonly notes: Readonly<Record<string, string>>;
  /** The current contents of the memory server's file. */
  readGraph(): GraphEntity[];
  remove(): void;
}

const NOTES = {
  'garden.md': 'Water the tomatoes every day.\nTODO: prune the apple tree\n',
  'house.md': 'TODO: call the plumber\nTODO: paint the door\n',
  'travel.md': 'Tickets are booked.\n',
};

/** Creates the folder. */
export function createWorkspace(): Workspace {
  // The filesystem server compares real paths; on macOS the temporary folder is a symbolic link.
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'bridge-demo-')));
  const notesFolder = join(root, 'notes');
  const stateDir = join(root, 'MCPs');
  const memoryFile = join(root, 'memory.jsonl');
  mkdirSync(notesFolder);
  mkdirSync(stateDir);
  for (const [name, text] of Object.entries(NOTES)) {
    writeFileSync(join(notesFolder, name), text);
  }
  writeFileSync(join(stateDir, 'demo.json'), JSON.stringify(serverFile(notesFolder, memoryFile), undefined, 2));
  return {
    stateDir,
    notes: NOTES,
    readGraph: () => parseGraph(readFileSync(memoryFile, 'utf8')),
    // A server that is ending may still write its file.
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Uses the server packages installed here; a user would write `npx -y @modelcontextprotocol/…`. */
function serverFile(notesFolder: string, memoryFile: string) {
  return {
    mcpServers: {
      filesystem: {
        command: process.execPath,
        args: [programOf('server-filesystem'), '.'],
        cwd: notesFolder,
        description: 'My notes',
      },
      memory: {
        command: process.execPath,
        args: [programOf('server-memory')],
        env: { MEMORY_FILE_PATH: memoryFile },
        description: 'A persistent knowledge graph',
      },
    },
  };
}

/** The program of a server package that npm installed here, by name: `server-memory`. */
export function programOf(name: string): string {
  return fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));
}

/** The memory server keeps its graph as one JSON object per line. */
function parseGraph(text: string): GraphEntity[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as GraphEntity & { type: string })
    .filter(({ type }) => type === 'entity');
}
