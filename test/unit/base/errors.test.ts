import { describe, expect, it } from 'vitest';
import {
  BridgeError,
  ERROR_CODES,
  messageOf,
  renderError,
  renderErrorReport,
  reportError,
  toBridgeError,
} from '../../../src/core/base/errors.ts';

describe('error codes', () => {
  it('are these, with these exit codes', () => {
    const exitCodes = Object.fromEntries(Object.entries(ERROR_CODES).map(([code, entry]) => [code, entry.exitCode]));
    expect(exitCodes).toEqual({
      ARGUMENT_INVALID: 64,
      USAGE_INVALID: 64,
      CONFIG_INVALID: 78,
      ENGINE_UNAVAILABLE: 69,
      ENGINE_FAILED: 69,
      IMAGE_MISSING: 69,
      IMAGE_PULLING: 75,
      IMAGE_UNSUITABLE: 69,
      SESSION_START_TIMEOUT: 75,
      SESSION_LOST: 70,
      SESSION_LIMIT: 75,
      HTTP_BUSY: 75,
      HTTP_REFUSED: 77,
      CHECK_FAILED: 65,
      CELL_DEADLINE: 124,
      CELL_CANCELLED: 130,
      LIMIT_ARTIFACT: 70,
      LIMIT_CALLS: 70,
      LIMIT_FRAME: 70,
      LIMIT_RESULT: 70,
      PROTOCOL_VIOLATION: 70,
      CALL_REFUSED: 70,
      CALL_TIMEOUT: 75,
      CALL_CANCELLED: 75,
      SERVER_NOT_AVAILABLE: 70,
      SERVER_UNKNOWN: 70,
      SERVER_START_FAILED: 69,
      SERVER_UNREACHABLE: 69,
      LOGIN_REQUIRED: 77,
      LOGIN_FAILED: 77,
      SECRET_UNAVAILABLE: 69,
      SERVER_EXITED: 69,
      SERVER_PROTOCOL: 76,
      CAPABILITY_MISSING: 70,
      TOOL_UNKNOWN: 70,
      TOOL_ARGUMENT_INVALID: 70,
      TOOL_CHANGED: 77,
      CALL_NOT_RECORDED: 70,
      OUTCOME_UNKNOWN: 70,
      TOOL_FAILED: 70,
      ARTIFACT_UNKNOWN: 70,
      POLICY_DENIED: 77,
      POLICY_LIMIT: 77,
      APPROVAL_DENIED: 77,
      APPROVAL_TIMEOUT: 75,
      APPROVAL_UNAVAILABLE: 77,
      PACKAGE_UNAVAILABLE: 69,
      STATE_WRITE_FAILED: 73,
      AUDIT_UNAVAILABLE: 74,
      INTERNAL: 70,
    });
  });
});

describe('BridgeError', () => {
  it('keeps code, hint, data and cause', () => {
    const cause = new Error('EACCES');
    const error = new BridgeError('STATE_WRITE_FAILED', 'cannot write', { hint: 'chmod', data: { path: '/x' }, cause });
    expect(error).toMatchObject({
      name: 'BridgeError',
      code: 'STATE_WRITE_FAILED',
      hint: 'chmod',
      data: { path: '/x' },
    });
    expect(error.cause).toBe(cause);
  });

  it('has no own `cause` property if none was given', () => {
    expect(Object.hasOwn(new BridgeError('INTERNAL', 'x'), 'cause')).toBe(false);
  });
});

describe('renderError', () => {
  it('puts the hint on a line of its own', () => {
    expect(renderError(new BridgeError('IMAGE_MISSING', 'no image', { hint: 'podman pull x' }))).toBe(
      'IMAGE_MISSING: no image\nHint: podman pull x',
    );
  });

  it('is one line without a hint', () => {
    expect(renderError(new BridgeError('INTERNAL', 'oops'))).toBe('INTERNAL: oops');
  });
});

describe('reportError', () => {
  it.each([
    [{ code: 'ENGINE_FAILED', message: 'it failed: no room', hint: 'Make room.' }],
    [{ code: 'CELL_CANCELLED', message: 'the client cancelled the cell' }],
  ] as const)('reports an error as %j', (report) => {
    const error = new BridgeError(report.code, report.message, { hint: 'hint' in report ? report.hint : undefined });
    expect(reportError(error)).toEqual(report);
  });
});

describe('renderErrorReport', () => {
  it('is one line', () => {
    expect(renderErrorReport({ code: 'INTERNAL', message: 'a\nb' })).toBe(
      '{"error":{"code":"INTERNAL","message":"a\\nb"}}\n',
    );
  });
});

describe('messageOf', () => {
  it.each([
    [new Error('why'), 'why'],
    [new TypeError(''), 'TypeError'],
    ['text', 'text'],
    [undefined, 'undefined'],
  ])('%o gives %s', (thrown, message) => {
    expect(messageOf(thrown)).toBe(message);
  });
});

describe('toBridgeError', () => {
  it('returns a BridgeError unchanged', () => {
    const error = new BridgeError('CALL_REFUSED', 'no');
    expect(toBridgeError(error)).toBe(error);
  });

  it('keeps anything else as the cause of INTERNAL', () => {
    const thrown = new RangeError('too deep');
    const error = toBridgeError(thrown);
    expect(error).toMatchObject({ code: 'INTERNAL', message: 'too deep', cause: thrown });
    expect(error.hint).toMatch(/log/);
  });
});
