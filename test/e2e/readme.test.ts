/** The documentation is correct: its samples run, its configuration is accepted, its links work. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, type Workspace } from '../../scripts/demo/workspace.ts';
import { parseServerFile } from '../../src/servers/server-file.ts';
import { type BridgeClient, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { findDocuments, readFences, readSamples } from '../support/documented-samples.ts';

const DOCUMENTS = findDocuments();
const engines = await coverEngines();
// The answers are those of the default image; another Python words its tracebacks differently.
const engine = engines.find(({ isContainer }) => isContainer);

const sampled = DOCUMENTS.filter((file) => readSamples(file).length > 0);

describe.each(engine === undefined ? [] : sampled)('the samples of %s', (file) => {
  let workspace: Workspace;
  let bridge: BridgeClient | undefined;
  beforeAll(async () => {
    workspace = createWorkspace();
    bridge = engine && (await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: workspace.stateDir } }));
  });
  afterAll(async () => {
    workspace.remove();
    await bridge?.close();
  });

  it.each(readSamples(file))('$place', async (sample) => {
    const answer = await bridge?.runPython(sample.code, sample.arguments);
    expect(answer?.text).toBe(sample.answer);
  });
});

describe('the documentation', () => {
  it('has samples that run on the pages people read first', () => {
    expect(readSamples('README.md').length).toBeGreaterThanOrEqual(4);
  });

  it.each(DOCUMENTS)('%s links to files and headings that exist', (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
    const targets = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target);
    const broken = targets.filter((target) => {
      const [path = '', heading] = target.split('#');
      const linked = path === '' ? join(ROOT, file) : join(ROOT, dirname(file), path);
      return !existsSync(linked) || (heading !== undefined && !headingsOf(linked).includes(heading));
    });
    expect(broken).toEqual([]);
  });

  it.each(DOCUMENTS)('%s names files of this project that exist', (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const paths = [...text.matchAll(/`((?:src|test|docs|scripts|sandbox-runtime)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it.each(DOCUMENTS)('%s shows server files that are accepted unchanged', (file) => {
    for (const block of readFences(file, 'json').filter((text) => text.includes('"mcpServers"'))) {
      // Sets the variables that the samples read, because unset ones cause a warning.
      const context = { home: '/home/me', env: { TRACKER_TOKEN: 'token' }, allowsSelf: true };
      const { servers, issues } = parseServerFile('/example.json', block, context);
      expect(issues.filter(({ level }) => level !== 'debug')).toEqual([]);
      expect(servers.length).toBeGreaterThan(0);
    }
  });
});

/** The anchors of a document, as code hosts generate them. */
function headingsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
