/** Saved sessions on the command line: listed, shown, copied out and in, and deleted. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { lastingStore } from '../../../src/core/session/checkpoint-store.ts';
import type { SavedCommand } from '../../../src/record/session-list/command.ts';
import { manageSaved, savedSessions } from '../../../src/record/session-list/saved.ts';

const FACTS = {
  cell: 3,
  savedAt: '2026-11-24T12:04:00.000Z',
  python: '3.14.0',
  engine: 'podman',
  variables: 2,
  files: 1,
  // Code has chosen it. Terminals act on U+009B, which JSON does not escape.
  lost: [{ name: 'conn', reason: 'TypeError: \u001b[2J\u009b2J' }],
  servers: ['memory'],
};

let root: string;
let folder: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'saved-'));
  folder = join(root, 'project');
  file = join(root, 'work.session');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
});

function storeOf(project = folder, client = 'editor') {
  return lastingStore(join(root, 'checkpoints'), { folder: project, client }, silentLogger);
}

/** Saves a session as a bridge does, and lets go of it. */
async function save(session: string, { content = 'opaque', project = folder, client = 'editor' } = {}): Promise<void> {
  const store = storeOf(project, client);
  const claim = await store.claim(session);
  const writer = await store.begin(session);
  await writer.write(Buffer.from(content));
  await writer.commit({ session, ...FACTS });
  await ('release' in claim ? claim.release() : undefined);
}

async function run(action: SavedCommand['action'], names: readonly string[], more: object = {}) {
  let out = '';
  const { logger, settings } = createContext({ MCP_BRIDGE_STATE_DIR: root });
  const writeOut = (text: string): void => {
    out += text;
  };
  await manageSaved(
    {
      command: 'sessions',
      action,
      name: names[0],
      names,
      folder,
      client: 'editor',
      isJson: false,
      ...more,
    } as SavedCommand,
    { logger, settings, writeOut },
  );
  return out;
}

async function contentOf(session: string, project = folder): Promise<string | undefined> {
  const stored = await storeOf(project).open(session);
  const text = await stored?.read(0, 1_000);
  await stored?.close();
  return text?.toString('utf8');
}

it('shows facts, named checkpoints and who has it, with control characters escaped', async () => {
  await save('work');
  await storeOf().copy('work', 'work\nbefore');
  const claim = await storeOf().claim('work');
  onTestFinished(() => ('release' in claim ? claim.release() : undefined));
  expect(await run('show', ['work'])).toBe(`work: 2 variables and 1 file after cell 3, 6 bytes
  saved 2026-11-24T12:04:00.000Z on podman, Python 3.14.0
  client editor, folder ${folder}
  servers memory
  in use by bridge ${process.pid}
  not saved: conn (TypeError: \\x1b[2J\\x9b2J)
  checkpoint before: after cell 3, saved 2026-11-24T12:04:00.000Z
`);
  const shown = await run('show', ['work'], { isJson: true });
  expect(shown).not.toContain('\u009b');
  expect(JSON.parse(shown)).toMatchObject({
    lost: FACTS.lost,
    session: 'work',
    folder,
    bytes: 6,
    heldBy: process.pid,
    checkpoints: [{ name: 'before' }],
  });
});

it('exports to a new file that only the user can read, and imports under another name or in another folder', async () => {
  await save('work');
  expect(await run('export', ['work'], { file })).toBe(`Exported session work of editor in ${folder}.\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await expect(run('export', ['work'], { file })).rejects.toMatchObject({ message: expect.stringContaining('EEXIST') });
  await run('import', ['copy'], { file });
  expect(await contentOf('copy')).toBe('opaque');
  const other = join(root, 'other');
  expect(JSON.parse(await run('import', [], { file, folder: other, isJson: true }))).toEqual([
    { session: 'work', folder: other, client: 'editor' },
  ]);
  const all = await savedSessions(root, silentLogger);
  expect(new Set(all.map(({ session, folder: project }) => `${session} ${project}`))).toEqual(
    new Set([`copy ${folder}`, `work ${other}`, `work ${folder}`]),
  );
});

it('does not import over another session, nor a file that was changed', async () => {
  await save('work');
  await run('export', ['work'], { file });
  await expect(run('import', [], { file })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: "there is a saved session 'work' in this folder already",
  });
  const bytes = readFileSync(file);
  bytes[0] = (bytes[0] ?? 0) + 1;
  writeFileSync(file, bytes);
  await expect(run('import', ['changed'], { file })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: `cannot import '${file}': it was changed`,
  });
  expect(await contentOf('changed')).toBeUndefined();
});

it('deletes a session with its named checkpoints, and nothing else', async () => {
  await save('work');
  await save('works');
  await storeOf().copy('work', 'work\nbefore');
  expect(await run('delete', ['work'])).toBe(`Deleted session work of editor in ${folder}.\n`);
  expect(await contentOf('work')).toBeUndefined();
  expect(await storeOf().list('work\n')).toEqual([]);
  expect(await contentOf('works')).toBe('opaque');
});

it.each(['delete', 'import'] as const)('refuses to %s a session that a bridge has', async (action) => {
  await save('work');
  await run('export', ['work'], { file });
  const claim = await storeOf().claim('work');
  onTestFinished(() => ('release' in claim ? claim.release() : undefined));
  await expect(run(action, ['work'], { file })).rejects.toMatchObject({
    message: `session 'work' is in use by bridge ${process.pid}, which would save it again`,
  });
});

it('finds a session of another folder or client if it is the only one with its name', async () => {
  const anywhere = { folder: undefined, client: undefined };
  await save('work', { project: '/one' });
  expect(await run('show', ['work'], anywhere)).toContain('client editor, folder /one');
  await save('work', { project: '/one', client: 'chat' });
  await expect(run('show', ['work'], anywhere)).rejects.toMatchObject({
    message: expect.stringMatching(
      /^there are several saved sessions 'work': of (?:editor|chat) in \/one; (?:editor|chat) in \/one$/,
    ),
    hint: 'Choose one with --client and --folder.',
  });
  expect(await run('show', ['work'], { ...anywhere, client: 'chat' })).toContain('client chat, folder /one');
  await expect(run('show', ['work'], { client: 'other', folder: undefined })).rejects.toMatchObject({
    message: "there is no saved session 'work'",
    hint: 'Run: mcp-server-code-execution-mode sessions list',
  });
});

it('imports for the command line, unless a client is named', async () => {
  await save('work');
  await run('export', ['work'], { file });
  await run('import', [], { file, client: undefined });
  const all = await savedSessions(root, silentLogger);
  expect(new Set(all.map(({ client }) => client))).toEqual(new Set(['editor', 'command-line']));
});

/** Files of all stores that end like this. */
function storedFiles(end: string): string[] {
  const checkpoints = join(root, 'checkpoints');
  return readdirSync(checkpoints, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => join(checkpoints, name));
}

// `delete` said that there was none, and the next bridge restored them.
it('deletes what is left of a session: a damaged checkpoint, or only named ones', async () => {
  await save('work');
  storedFiles('.checkpoint').forEach((path) => writeFileSync(path, 'cut'));
  expect(await run('delete', ['work'])).toMatch(/^Deleted session work /);
  expect(storedFiles('.checkpoint')).toEqual([]);
  await save('work');
  await storeOf().copy('work', 'work\nbefore');
  await storeOf().remove('work');
  expect(await run('delete', ['work'])).toMatch(/^Deleted session work /);
  expect(await storeOf().list('work\n')).toEqual([]);
});

// It was listed as a second session of that name, and no option could choose between the two.
it('does not take a named checkpoint without its key for a session', async () => {
  await save('work');
  await storeOf().copy('work', 'work\nbefore');
  storedFiles('.key').forEach((path) => rmSync(path));
  expect((await savedSessions(root, silentLogger)).map(({ session }) => session)).toEqual(['work']);
  expect(await run('show', ['work'])).toContain('after cell 3');
});

// The bridge knows the folder by its own path, so it never found what was imported.
it('imports for the folder to which a link leads', async () => {
  await save('work');
  await run('export', ['work'], { file });
  const link = join(root, 'link');
  const target = join(root, 'target');
  mkdirSync(target);
  symlinkSync(target, link);
  await run('import', ['copy'], { file, folder: link });
  expect(await contentOf('copy', target)).toBe('opaque');
  expect(await run('show', ['copy'], { folder: link })).toContain(`folder ${target}`);
});

// A newline in it made it the key of a named checkpoint of another session, which was replaced.
it.each(['work\nbefore', '', 'a b', 'x'.repeat(65)])('does not import under the name %j', async (name) => {
  await save('work');
  await run('export', ['work'], { file });
  await expect(run('import', [name], { file })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    hint: "Give it a name with --name: 1 to 64 letters, digits, '_', '.' or '-'.",
  });
});
