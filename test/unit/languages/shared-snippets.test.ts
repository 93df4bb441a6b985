/** Snippets of other people, which run only as a person has approved them. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readLanguages } from '../../../src/features/languages/languages-file.ts';
import { SharedSnippets } from '../../../src/features/languages/shared-snippets.ts';
import { Snippets } from '../../../src/features/languages/snippets.ts';

let root: string;
let stateDir: string;
let folder: string;
let problems: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'shared-snippets-'));
  stateDir = join(root, 'state');
  folder = join(root, 'team');
  await mkdir(folder);
  problems = [];
});
afterEach(() => rm(root, { recursive: true, force: true }));

const share = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
const languages = () => readLanguages(stateDir);

function open(folders: readonly string[] = [folder]) {
  const shared = new SharedSnippets({ folders, stateDir, languages, report: (problem) => problems.push(problem) });
  return { shared, snippets: new Snippets(stateDir, languages, shared) };
}

async function approveAll({ shared }: ReturnType<typeof open>): Promise<void> {
  for (const snippet of await shared.list()) {
    // biome-ignore lint/performance/noAwaitInLoops: they share a lock.
    await shared.approve(snippet);
  }
}

describe('a shared snippet', () => {
  it('runs only after it was approved', async () => {
    await share('report.js', 'console.log(1)');
    await expect(open().snippets.find('report')).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: expect.stringContaining('no one has approved it yet') as string,
      hint: expect.stringContaining('snippets approve report') as string,
    });
    await approveAll(open());
    expect(await open().snippets.find('report')).toMatchObject({ code: 'console.log(1)', fileName: 'report.js' });
  });

  it('needs approval again when it changes, and not when it changes back', async () => {
    await share('report.js', 'console.log(1)');
    await approveAll(open());
    await share('report.js', 'console.log(2)');
    await expect(open().snippets.find('report')).rejects.toThrow('it has changed since it was approved');
    await share('report.js', 'console.log(1)');
    expect(await open().snippets.find('report')).toMatchObject({ code: 'console.log(1)' });
  });

  it('can be read before it is approved', async () => {
    await share('report.js', 'console.log(1)');
    expect(await open().snippets.find('report', { isToRead: true })).toMatchObject({ code: 'console.log(1)' });
  });

  it('gives way to an own one of the same name', async () => {
    await share('report.js', 'console.log("theirs")');
    await approveAll(open());
    const { snippets } = open();
    const language = (await languages()).find('js');
    if (language === undefined) {
      throw new Error('there is no JavaScript');
    }
    await snippets.add({ name: 'report', language, code: 'console.log("mine")' });
    expect(await snippets.find('report')).toMatchObject({ code: 'console.log("mine")' });
  });

  it('is named when code asks for a name like it', async () => {
    await share('report.js', '1');
    await expect(open().snippets.find('raport')).rejects.toThrow("Did you mean 'report'?");
  });
});

describe('a shared folder', () => {
  it('has snippets beside functions and other files', async () => {
    await Promise.all([share('a.js', '1'), share('b.go', '1'), share('total.py', '1'), share('README.md', '1')]);
    expect((await open().shared.list()).map(({ name, state }) => [name, state])).toEqual([
      ['a', 'new'],
      ['b', 'new'],
    ]);
  });

  it('is read without its links, and the rest is used', async () => {
    await writeFile(join(root, 'secret.js'), '1');
    await symlink(join(root, 'secret.js'), join(folder, 'linked.js'));
    await share('a.js', '1');
    expect((await open().shared.list()).map(({ name }) => name)).toEqual(['a']);
    expect(problems).toEqual([expect.stringMatching(/linked\.js was skipped: it is not a file/)]);
  });

  it('may be missing', async () => {
    expect(await open([join(root, 'none')]).shared.list()).toEqual([]);
    expect(problems).toEqual([expect.stringMatching(/The toolbox .*none was skipped/)]);
  });

  it('comes before the next one, whose snippet of the same name is skipped', async () => {
    const other = join(root, 'other');
    await mkdir(other);
    await share('a.js', '1');
    await writeFile(join(other, 'a.go'), '2');
    const [found, ...more] = await open([folder, other]).shared.list();
    expect([found?.fileName, more]).toEqual(['a.js', []]);
    expect(problems).toEqual([expect.stringMatching(/a\.go was skipped: .*a\.js has the same name/)]);
  });
});

it('a damaged record of consents means that all must be approved again', async () => {
  await share('a.js', '1');
  await approveAll(open());
  const file = join(stateDir, 'toolbox.json');
  expect(await readFile(file, 'utf8')).toContain('a.js');
  await writeFile(file, '{');
  expect(await open().shared.list()).toMatchObject([{ state: 'new' }]);
  expect(problems).toEqual([expect.stringMatching(/toolbox\.json was ignored/)]);
});
