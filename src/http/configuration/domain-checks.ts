import { Type } from 'typebox';
import { areas, severities } from '../../core/mail-domain/finding.ts';
import { checkChannelDomains } from '../../services/configuration/checks/domain-checks.ts';
import { forOrganizationAndProject, plain } from '../server/route.ts';

const Finding = Type.Object(
  {
    code: Type.String({ description: 'A stable code, such as spf.missing.' }),
    area: Type.Enum([...areas]),
    severity: Type.Enum([...severities], {
      description: '`unchecked`: DNS gave no answer, so nothing is known.',
    }),
    message: Type.String({ description: 'What is wrong, and what to do.' }),
    record: Type.Optional(
      Type.Object(
        { name: Type.String(), type: Type.Enum(['TXT', 'MX', 'PTR']), value: Type.String() },
        { description: 'The DNS record to publish.' },
      ),
    ),
  },
  { $id: 'DomainFinding' },
);

const DomainCheck = Type.Object(
  {
    domain: Type.String(),
    senders: Type.Array(Type.String(), { description: 'The providers that send from it.' }),
    checked: Type.Array(Type.Enum([...areas]), { description: 'What was checked, including areas without findings.' }),
    findings: Type.Array(Finding),
  },
  { $id: 'DomainCheck' },
);

export const [checkOrganizationChannelDomain, checkProjectChannelDomain] = forOrganizationAndProject((owner, lower) =>
  plain(['org', 'channel'], {
    id: `check${owner}ChannelDomain`,
    summary: `Check the domains of ${owner === 'Project' ? 'a' : 'an'} ${lower} channel`,
    description:
      'Looks up SPF, DKIM, DMARC and MX of the domains that the channel sends from, and the reverse DNS of a mail server ' +
      'that needs no password. Takes up to 15 seconds. An organization can check 20 times a minute, per API process. A channel that is not ' +
      'for email, or has no sender address, has no domains.',
    tag: 'Channels',
    status: 200,
    problems: [429],
    answer: Type.Array(DomainCheck),
    handle: ({ deps, organization, channel, link }) =>
      checkChannelDomains(deps, organization.id, channel.id, new URL(link('/')).hostname),
  }),
);
