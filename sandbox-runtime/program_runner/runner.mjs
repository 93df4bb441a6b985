// PID 1 of a sandbox for JavaScript: writes the files, runs the program as a child process, and passes on its output and its
// calls as lines of JSON. The first argument is the source of what is loaded before the program. What the child
// prints is never taken for a line to the host, and it cannot open the pipe of this process.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const PIECE_BYTES = 64 * 1024;
const FILE_PIECE_BYTES = 768 * 1024;
const KEPT_BYTES = 32 * 1024 * 1024;
const RETURNED_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 1000;
const MAX_NAME_CHARS = 1000;
const isFirst = process.pid === 1;
const folder = process.cwd();
const preload = process.argv[1] ?? '';
const { BRIDGE_SETPRIV: setpriv, BRIDGE_UID: uid } = process.env;
let child;
let unread = [];
let dropped = 0;

if (uid !== undefined) {
  becomeUser();
}
// Otherwise the program could open the inspector of this process with a signal, and keep it from ending with the host.
process.on('SIGUSR1', () => undefined);
send({ type: 'started' });
process.stdin.on('data', (chunk) => {
  for (let rest = chunk; rest.length > 0; ) {
    const end = rest.indexOf(10);
    unread.push(end === -1 ? rest : rest.subarray(0, end));
    rest = end === -1 ? rest.subarray(rest.length) : rest.subarray(end + 1);
    if (end !== -1) {
      const line = Buffer.concat(unread);
      unread = [];
      receive(line);
    }
  }
});
process.stdin.on('end', () => {
  endAll();
  process.exit(1);
});

/** Becomes the user of the program. A process that has changed its user is not dumpable, so others of the user cannot open its pipes. */
function becomeUser() {
  for (const scratch of [folder, '/tmp']) {
    // podman gives them to the first user, and runc before 1.2 the mode of the image's folder below them.
    if (fs.statSync(scratch).uid === 0) {
      fs.chmodSync(scratch, 0o1777);
    }
  }
  process.setuid(Number(uid));
}

function receive(line) {
  if (child === undefined) {
    run(JSON.parse(line.toString('utf8')));
  } else if (child.stdio[3].writable) {
    child.stdio[3].write(Buffer.concat([line, Buffer.from('\n')]));
  }
}

function run(job) {
  const given = new Map();
  for (const { name, content } of job.files) {
    const bytes = Buffer.from(content, 'base64');
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, bytes);
    given.set(name, bytes);
  }
  const flags = ['--no-warnings', '--import', `data:text/javascript;base64,${Buffer.from(preload).toString('base64')}`];
  const command = [process.execPath, ...flags, path.join(folder, job.entry), ...job.args];
  // The program must lack the capability of this process, which keeps it from opening the pipe to the host.
  const [first, ...rest] = setpriv === undefined ? command : [setpriv, '--inh-caps=-all', '--', ...command];
  child = spawn(first, rest, {
    cwd: folder,
    env: { ...process.env, BRIDGE_SETPRIV: undefined, BRIDGE_UID: undefined, ...job.env },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  for (const pipe of child.stdio) {
    pipe.on('error', () => undefined);
  }
  child.stdin.end(Buffer.from(job.stdin ?? '', 'base64'));
  pass('stdout', child.stdout);
  pass('stderr', child.stderr);
  passCalls(child.stdio[3]);
  child.on('error', (error) => finish(126, `cannot start the program: ${error.message}\n`));
  child.on('exit', (code, signal) => {
    endAll();
    const exitCode = code ?? 128 + (SIGNALS[signal] ?? 0);
    const done = () => finish(exitCode, '', job.wants_files === true ? given : undefined);
    child.once('close', done);
    // Where this is not PID 1, what the program has left behind may keep its output open.
    setTimeout(done, 1000).unref();
  });
}

const SIGNALS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

function pass(stream, pipe) {
  let room = KEPT_BYTES;
  pipe.on('data', (chunk) => {
    const kept = chunk.subarray(0, room);
    room -= kept.length;
    dropped += chunk.length - kept.length;
    let isFull = false;
    for (let at = 0; at < kept.length; at += PIECE_BYTES) {
      isFull = !send({ type: 'output', stream, data: kept.subarray(at, at + PIECE_BYTES).toString('base64') });
    }
    if (isFull) {
      pipe.pause();
      process.stdout.once('drain', () => pipe.resume());
    }
  });
}

function passCalls(pipe) {
  let pieces = [];
  pipe.setEncoding('utf8');
  pipe.on('data', (chunk) => {
    pieces.push(chunk);
    const lines = chunk.includes('\n') ? pieces.join('').split('\n') : [];
    pieces = lines.length > 0 ? [lines.pop()] : pieces;
    for (const line of lines) {
      try {
        const { call, server, tool, arguments: given } = JSON.parse(line);
        send({ type: 'call', call, server, tool, arguments: given });
      } catch {
        // The program wrote to the pipe itself.
      }
    }
  });
}

let isFinished = false;

function finish(exitCode, words, given) {
  if (isFinished) {
    return;
  }
  isFinished = true;
  if (words !== '') {
    send({ type: 'output', stream: 'stderr', data: Buffer.from(words).toString('base64') });
  }
  const omitted = given === undefined ? [] : sendChanged(given);
  const last = { type: 'exit', exit_code: exitCode, dropped_bytes: dropped, omitted_files: omitted };
  process.stdout.write(`${JSON.stringify(last)}\n`, () => process.exit(0));
}

/** Sends the regular files that are new or have other content; returns the names of those beyond the limits. Links are not followed. */
function sendChanged(given) {
  const omitted = [];
  let sent = 0;
  let room = RETURNED_BYTES;
  const visit = (inside) => {
    for (const entry of fs.readdirSync(path.join(folder, inside), { withFileTypes: true })) {
      const name = inside === '' ? entry.name : `${inside}/${entry.name}`;
      if (entry.isDirectory()) {
        visit(name);
      } else if (entry.isFile() && (sent === MAX_FILES || fs.statSync(path.join(folder, name)).size > room)) {
        if (omitted.length < MAX_FILES && name.length < MAX_NAME_CHARS) {
          omitted.push(name);
        }
      } else if (entry.isFile()) {
        const content = fs.readFileSync(path.join(folder, name));
        if (given.get(name)?.equals(content) !== true) {
          room -= content.length;
          sent += 1;
          sendFile(name, content);
        }
      }
    }
  };
  try {
    visit('');
  } catch {
    // The program took away the right to read one.
  }
  return omitted;
}

function sendFile(name, content) {
  for (let at = 0; at === 0 || at < content.length; at += FILE_PIECE_BYTES) {
    send({ type: 'file', name, data: content.subarray(at, at + FILE_PIECE_BYTES).toString('base64') });
  }
}

/** Ends what the program has left behind. Only as PID 1: elsewhere the signal would reach other processes. */
function endAll() {
  if (isFirst) {
    try {
      process.kill(-1, 'SIGKILL');
    } catch {
      // There is nothing left.
    }
  } else {
    child?.kill('SIGKILL');
  }
}

function send(message) {
  return process.stdout.write(`${JSON.stringify(message)}\n`);
}
