/** What both sides, and existing images, rely on. Change a value here only together with the version. */
import { expect, it } from 'vitest';
import {
  HostFrameSchema,
  PROTOCOL_VERSION,
  SandboxFrameSchema,
  SupervisorReportSchema,
} from '../../../src/core/protocol/frames.ts';

it('has version 1', () => {
  expect(PROTOCOL_VERSION).toBe(1);
});

it('has these frames of the host', () => {
  expect(HostFrameSchema.options.map((option) => option.shape.type.value)).toEqual([
    'hello',
    'execute',
    'interrupt',
    'answer_part',
    'answer_bytes',
    'answer',
    'call_progress',
    'save_checkpoint',
    'checkpoint_taken',
    'checkpoint_data',
    'egress_data',
    'egress_end',
    'egress_reset',
    'egress_taken',
  ]);
});

it('has these frames of the sandbox', () => {
  expect(SandboxFrameSchema.options.map((option) => option.shape.type.value)).toEqual([
    'code_pack',
    'ready',
    'output',
    'call',
    'cancel_call',
    'job_ended',
    'display',
    'progress',
    'checkpoint_part',
    'checkpoint_end',
    'want_checkpoint',
    'restored',
    'egress_open',
    'egress_data',
    'egress_end',
    'egress_reset',
    'egress_taken',
    'result',
  ]);
});

it('has these reports of the supervisor', () => {
  expect(SupervisorReportSchema.options.map((option) => option.shape.report.value)).toEqual(['started', 'ended']);
});
