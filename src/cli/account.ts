import { roles } from '../core/identity/roles.ts';
import {
  createAccount,
  listAccounts,
  removeAccount,
  resetPassword,
  resetTwoFactor,
} from '../services/identity/accounts.ts';
import { unlinkAccount, unlinkIssuer } from '../services/identity/sign-in/oidc-links.ts';
import { flag, oneOf, readOptions, requireOption, runAction, string } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal, usageError } from './command.ts';
import { formatTime } from './format.ts';
import { printRows } from './rows.ts';

export const account: Command = {
  name: 'account',
  usage:
    'create --email EMAIL | list [--json] | reset-password --email EMAIL | reset-two-factor --email EMAIL | unlink --email EMAIL | remove --email EMAIL',
  summary: 'Manage the accounts that sign in to the console.',
  details: `create            Create an account and print its password.
  --email EMAIL
  --name NAME
  --admin             instance admin: has access to every organization and can create organizations
  --org ORG           make the account a member of this organization
  --role ROLE         role in the organization: ${roles.join(', ')}
  --password-stdin    read the password from standard input instead of generating one
list              List all accounts.
  --json              print JSON
reset-password    Set and print a new password, and end all sessions of the account.
  --email EMAIL
  --password-stdin    read the password from standard input instead of generating one
reset-two-factor  Remove authenticator app, passkeys and recovery codes, and end all sessions. For users who have lost
                  all of them: the password alone is enough again.
  --email EMAIL
unlink            Remove the link to the identity provider, and end all sessions. For users whose identity was created again: the
                  next sign-in with the provider links the identity that has their verified email.
  --email EMAIL
  --issuer URL        instead of --email: all accounts of this provider, after OIDC_ISSUER was changed
remove            Delete the account from every organization, permanently.
  --email EMAIL

Works directly on the database, also while a server is running. To add users to an organization, invite them in the console.`,
  examples: [
    'belfry account create --email jane@acme.test --admin',
    'belfry account create --email joe@acme.test --org acme --role editor',
    'belfry account reset-password --email jane@acme.test',
    'belfry account reset-two-factor --email jane@acme.test',
    'belfry account unlink --email jane@acme.test',
  ],
  run(args, terminal) {
    // Accounts belong to the whole instance, an API key to one organization.
    requireDatabaseHere(terminal);
    return runChosen(args, terminal);
  },
};

const runChosen = runAction('account', {
  create,
  list,
  'reset-password': reset,
  'reset-two-factor': clearTwoFactor,
  unlink,
  remove,
});

async function create(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, {
    email: string,
    name: string,
    admin: flag,
    org: string,
    role: string,
    'password-stdin': flag,
  });
  const { org } = values;
  if ((org === undefined) !== (values.role === undefined)) throw usageError('--org and --role must be used together');
  const role = oneOf('--role', roles, values.role);
  const input = {
    email: emailOf(values.email),
    name: values.name?.trim().normalize('NFC'),
    admin: values.admin,
    membership: org !== undefined && role !== undefined ? { organization: org, role } : undefined,
    password: values['password-stdin'] ? await readPassword() : undefined,
  };
  const { password } = await terminal.withDeps(deps => createAccount(deps, input));
  if (input.password === undefined) terminal.print(password);
  else terminal.print(`Created ${input.email}.`);
}

async function list(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { json: flag });
  const rows = await terminal.withDeps(listAccounts);
  printRows(terminal, rows, values, 'No accounts yet. Create one: see `belfry help account`.', {
    EMAIL: row => row.email,
    NAME: row => row.name,
    ADMIN: row => (row.admin ? 'yes' : ''),
    'LAST SEEN': row => (row.last_seen_at ? formatTime(row.last_seen_at) : 'never'),
    '2FA': row => (row.two_factor ? 'on' : 'off'),
    SSO: row => row.oidc_issuer ?? '',
    ROLES: row => row.roles.join(' '),
  });
}

async function reset(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { email: string, 'password-stdin': flag });
  const email = emailOf(values.email);
  const input = values['password-stdin'] ? await readPassword() : undefined;
  const password = await terminal.withDeps(deps => resetPassword(deps, email, input));
  terminal.print(input === undefined ? password : `Changed the password of ${email}.`);
}

async function clearTwoFactor(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { email: string });
  const email = emailOf(values.email);
  await terminal.withDeps(deps => resetTwoFactor(deps, email));
  terminal.print(`Removed the second factors of ${email}.`);
}

async function unlink(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { email: string, issuer: string });
  const { issuer } = values;
  if (issuer !== undefined) {
    if (values.email !== undefined) throw usageError('use either --email or --issuer');
    const count = await terminal.withDeps(deps => unlinkIssuer(deps, issuer));
    terminal.print(`Accounts unlinked from ${issuer}: ${count}.`);
    return;
  }
  const email = emailOf(values.email);
  const wasLinked = await terminal.withDeps(deps => unlinkAccount(deps, email));
  terminal.print(
    wasLinked ? `Unlinked ${email} from the identity provider.` : `${email} is not linked to an identity provider.`,
  );
}

async function remove(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { email: string });
  const email = emailOf(values.email);
  await terminal.withDeps(deps => removeAccount(deps, email));
  terminal.print(`Removed ${email}.`);
}

function emailOf(email: string | undefined): string {
  return requireOption('account', '--email', email).trim();
}

/** Reads standard input without the line break that an editor or `echo` adds at the end. */
async function readPassword(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text.replace(/\r?\n$/, '');
}
