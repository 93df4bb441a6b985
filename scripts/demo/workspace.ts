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
  /** The text of `sales.csv`, which is offered beside the notes. */
  readonly sales: string;
  /** The sum of each region in it. */
  readonly totals: Readonly<Record<string, number>>;
  /** The current contents of the memory server's file. */
  readGraph(): GraphEntity[];
  remove(): void;
}

const NOTES = {
  'garden.md': 'Water the tomatoes every day.\nTODO: prune the apple tree\n',
  'house.md': 'TODO: call the plumber\nTODO: paint the door\n',
  'travel.md': 'Tickets are booked.\n',
};

const REGIONS = ['north', 'south', 'east', 'west'];
const SALES = Array.from({ length: 2_000 }, (_, index) => ({
  day: `2026-${String((index % 12) + 1).padStart(2, '0')}-${String((index % 28) + 1).padStart(2, '0')}`,
  region: REGIONS[Math.floor(((index * 7_919) % 1_000) / 100) % REGIONS.length] ?? '',
  amount: (index * 104_729) % 500,
}));

/** Creates the folder. */
export function createWorkspace(): Workspace {
  // The filesystem server compares real paths; on macOS the temporary folder is a symbolic link.
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'bridge-demo-')));
  const notesFolder = join(root, 'notes');
  const salesFolder = join(root, 'sales');
  const stateDir = join(root, 'MCPs');
  const memoryFile = join(root, 'memory.jsonl');
  mkdirSync(notesFolder);
  mkdirSync(salesFolder);
  mkdirSync(stateDir);
  for (const [name, text] of Object.entries(NOTES)) {
    writeFileSync(join(notesFolder, name), text);
  }
  const sales = ['day,region,amount', ...SALES.map((sale) => Object.values(sale).join(','))].join('\n');
  writeFileSync(join(salesFolder, 'sales.csv'), sales);
  const servers = serverFile([notesFolder, salesFolder], memoryFile);
  writeFileSync(join(stateDir, 'demo.json'), JSON.stringify(servers, undefined, 2));
  return {
    stateDir,
    notes: NOTES,
    sales,
    totals: Object.fromEntries(REGIONS.map((region) => [region, totalOf(region)])),
    readGraph: () => parseGraph(readFileSync(memoryFile, 'utf8')),
    // A server that is ending may still write its file.
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Uses the server packages installed here; a user would write `npx -y @modelcontextprotocol/…`. */
function serverFile([notesFolder = '', salesFolder = '']: readonly string[], memoryFile: string) {
  return {
    mcpServers: {
      filesystem: {
        command: process.execPath,
        args: [programOf('server-filesystem'), '.', salesFolder],
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

function totalOf(wanted: string): number {
  return SALES.filter(({ region }) => region === wanted).reduce((sum, { amount }) => sum + amount, 0);
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
