/** The workspace of one run: a folder of files and repositories, a database, a knowledge graph and a web shop. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import type { ServerEntry } from '../comparison/connect.ts';
import { findPrograms, type Programs, serversOf } from './servers.ts';
import { openShop, type Shop } from './shop.ts';

export interface Entity {
  readonly type: 'entity';
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
}

export interface Relation {
  readonly type: 'relation';
  readonly from: string;
  readonly to: string;
  readonly relationType: string;
}

/** Texts of files by path, relative to a folder, with `/`. */
export type Tree = Readonly<Record<string, string>>;

export interface Workspace {
  /** Everything of this run; removed at the end. */
  readonly root: string;
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly hasBrowser: boolean;
  readonly shop: Shop;
  /** Paths are relative to the folder of the filesystem server. */
  write(path: string, text: string): void;
  writeTree(folder: string, tree: Tree): void;
  /** The text, or undefined if there is no such file. */
  read(path: string): string | undefined;
  /** All files below a folder. */
  tree(folder: string): Tree;
  absolute(path: string): string;
  /** Runs a script, without rows. */
  runSql(script: string): void;
  query(select: string): readonly Readonly<Record<string, unknown>>[];
  addToGraph(records: readonly (Entity | Relation)[]): void;
  graph(): readonly (Entity | Relation)[];
  /** Output of git in a repository; `input` is for its stdin. */
  git(repository: string, args: readonly string[], input?: string): string;
  /** Ends the shop. */
  close(): Promise<void>;
  remove(): void;
}

/** An empty workspace. `browser` is as in `findPrograms`. */
export async function openWorkspace(browser?: string): Promise<Workspace> {
  const programs = findPrograms(browser);
  // The filesystem server compares real paths; on macOS the temporary folder is a symbolic link.
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'eval-')));
  const files = join(root, 'work');
  const scratch = join(root, 'scratch');
  const databaseFile = join(root, 'database.db');
  const graphFile = join(root, 'memory.jsonl');
  mkdirSync(files);
  mkdirSync(scratch);
  writeFileSync(graphFile, '');
  const shop = await openShop();
  return {
    root,
    servers: serversOf(programs, { files, databaseFile, graphFile, scratch }),
    hasBrowser: programs.browser !== undefined,
    shop,
    ...filesIn(files),
    ...databaseIn(databaseFile, programs),
    ...graphIn(graphFile),
    git: (repository, args, input) => runGit(join(files, repository), args, input),
    close: () => shop.close(),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function filesIn(folder: string): Pick<Workspace, 'absolute' | 'read' | 'tree' | 'write' | 'writeTree'> {
  const absolute = (path: string): string => join(folder, path);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(absolute(path)), { recursive: true });
    writeFileSync(absolute(path), text);
  };
  return {
    absolute,
    write,
    writeTree(below, tree) {
      for (const [path, text] of Object.entries(tree)) {
        write(join(below, path), text);
      }
    },
    read(path) {
      try {
        return readFileSync(absolute(path), 'utf8');
      } catch {
        // Missing, or a folder: the checker reports both as missing.
        return undefined;
      }
    },
    tree(below) {
      const entries = readdirSync(absolute(below), { recursive: true, withFileTypes: true });
      const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      return Object.fromEntries(
        paths.map((path) => [relative(absolute(below), path).replaceAll(sep, '/'), readFileSync(path, 'utf8')]),
      );
    },
  };
}

function databaseIn(file: string, { node }: Programs): Pick<Workspace, 'query' | 'runSql'> {
  const script = join(import.meta.dirname, 'database.mjs');
  const run = (sql: string): string =>
    execFileSync(node, ['--no-warnings', script], { input: JSON.stringify({ file, sql }), encoding: 'utf8' });
  return {
    runSql: (sql) => void run(sql),
    query: (select) => JSON.parse(run(select)) as Record<string, unknown>[],
  };
}

function graphIn(file: string): Pick<Workspace, 'addToGraph' | 'graph'> {
  return {
    addToGraph(records) {
      writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''), { flag: 'a' });
    },
    graph: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Entity | Relation),
  };
}

function runGit(folder: string, args: readonly string[], input?: string): string {
  mkdirSync(folder, { recursive: true });
  return execFileSync('git', [...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    // The settings of the person who runs this must not change hashes or defaults.
    env: { ...process.env, GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: '1' },
    ...(input === undefined ? {} : { input }),
  });
}
