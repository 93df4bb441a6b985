import { describe, expect, it } from 'vitest';
import { currentOwner, isOwnerGone } from '../../../../src/core/base/owner.ts';
import {
  INSTANCE_LABEL,
  readLabels,
  type SandboxLabels,
  writeLabels,
} from '../../../../src/edges/engines/container/labels.ts';
import { isOrphan, parseListing } from '../../../../src/edges/engines/container/sweep.ts';

const labels: SandboxLabels = {
  instanceId: 'a1b2',
  owner: { host: 'laptop:boot-1:4026531836', pid: 4711, started: '123456' },
  session: 'default',
  createdAt: new Date('2026-11-21T10:00:00.000Z'),
};
/** Above the highest process id Linux allows (4,194,304). */
const NO_PID = 4_194_305;

describe('labels', () => {
  it('are pinned: other versions of the bridge read them', () => {
    expect(writeLabels(labels)).toEqual({
      'mcp-server-code-execution-mode.instance': 'a1b2',
      'mcp-server-code-execution-mode.host': 'laptop:boot-1:4026531836',
      'mcp-server-code-execution-mode.pid': '4711',
      'mcp-server-code-execution-mode.pid-started': '123456',
      'mcp-server-code-execution-mode.session': 'default',
      'mcp-server-code-execution-mode.created-at': '2026-11-21T10:00:00.000Z',
    });
  });

  it('can be read back', () => {
    expect(readLabels(writeLabels(labels))).toEqual(labels);
  });

  it.each(['a b', 'a=b,c', 'zwei\nZeilen', 'größe', '\u{1f600}', '\ud800', "it's (1)*~!", 'x'.repeat(1000)])(
    'encode any session name as harmless text: %j',
    (session) => {
      const value = writeLabels({ ...labels, session })['mcp-server-code-execution-mode.session'];
      expect(value).toMatch(/^[A-Za-z0-9._%-]+$/);
    },
  );

  it('of other containers are not mistaken for ours', () => {
    expect(readLabels({})).toBeUndefined();
    expect(readLabels({ [INSTANCE_LABEL]: 'a1b2' })).toBeUndefined();
    expect(readLabels({ ...writeLabels(labels), 'mcp-server-code-execution-mode.pid': '-1' })).toBeUndefined();
    expect(readLabels({ ...writeLabels(labels), 'mcp-server-code-execution-mode.created-at': 'soon' })).toBeUndefined();
  });
});

describe('an owner', () => {
  it('is alive if it is this process', () => {
    expect(isOwnerGone(currentOwner())).toBe(false);
  });

  it('is gone if its process ended', () => {
    expect(isOwnerGone({ ...currentOwner(), pid: NO_PID })).toBe(true);
  });

  it.runIf(process.platform === 'linux')('is gone if another process has its process id', () => {
    expect(isOwnerGone({ ...currentOwner(), started: '1' })).toBe(true);
  });

  it('counts as alive if its start time is unknown and its process id exists', () => {
    expect(isOwnerGone({ ...currentOwner(), started: 'unknown' })).toBe(false);
  });

  it('is never judged from another machine, boot or pid namespace', () => {
    expect(isOwnerGone({ host: 'elsewhere:boot-2:1', pid: NO_PID, started: '1' })).toBe(false);
  });
});

describe('a listing of containers', () => {
  const written = writeLabels(labels);

  it('from podman is one array with label objects', () => {
    const text = JSON.stringify([{ Id: 'abc', State: 'running', Labels: { ...written, other: 'a,b=c' } }], null, 2);
    expect(parseListing(text)).toEqual([{ id: 'abc', isRunning: true, labels }]);
  });

  it('from docker is one object per line with joined labels', () => {
    const joined = Object.entries(written)
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    const line = JSON.stringify({ ID: 'abc', State: 'exited', Labels: joined });
    expect(parseListing(`${line}\n${line}\n`)).toEqual([
      { id: 'abc', isRunning: false, labels },
      { id: 'abc', isRunning: false, labels },
    ]);
  });

  it('can be empty in several ways', () => {
    expect(['', '\n', '[]', 'null', '[]\n'].map(parseListing)).toEqual([[], [], [], [], []]);
  });

  it('skips containers that only look like ours', () => {
    expect(parseListing(JSON.stringify([{ Id: 'abc', State: 'running', Labels: { [INSTANCE_LABEL]: 'x' } }]))).toEqual(
      [],
    );
  });
});

describe('an orphan', () => {
  const now = new Date('2026-11-21T10:30:00.000Z');
  const muchLater = new Date('2026-11-21T11:00:01.000Z');
  const foreign = { id: 'abc', isRunning: true, labels };

  it('is a container whose owner is gone', () => {
    const gone = { ...labels, owner: { ...currentOwner(), pid: NO_PID } };
    expect(isOrphan({ ...foreign, labels: gone }, now)).toBe(true);
  });

  it('is not one with a live owner, or one that cannot be judged', () => {
    expect(isOrphan({ ...foreign, labels: { ...labels, owner: currentOwner() } }, muchLater)).toBe(false);
    expect(isOrphan(foreign, muchLater)).toBe(false);
  });

  it('is any that is stopped an hour after its creation', () => {
    expect(isOrphan({ ...foreign, isRunning: false }, now)).toBe(false);
    expect(isOrphan({ ...foreign, isRunning: false }, muchLater)).toBe(true);
  });
});
