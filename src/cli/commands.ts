/** Every command, in the order of the help. */
import { account } from './account.ts';
import { apply } from './apply.ts';
import { audit } from './audit.ts';
import type { Command } from './command.ts';
import { doctor } from './doctor.ts';
import { exportCommand } from './export.ts';
import { key } from './key.ts';
import { limits } from './limits.ts';
import { migrate } from './migrate.ts';
import { plan } from './plan.ts';
import { secret } from './secret.ts';
import { serve } from './serve.ts';
import { simulate } from './simulate.ts';
import { trigger } from './trigger.ts';

export const commands: readonly Command[] = [
  serve,
  migrate,
  apply,
  plan,
  exportCommand,
  key,
  account,
  limits,
  secret,
  audit,
  trigger,
  simulate,
  doctor,
];
