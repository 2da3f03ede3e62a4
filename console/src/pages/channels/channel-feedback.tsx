/** Where services report what became of messages, and when they last did. */
import { Alert, Stack, Text } from '@mantine/core';
import type { ChannelDetails } from '../../api-types.ts';
import { CopyText } from '../../components/copy.tsx';
import { Facts } from '../../components/facts.tsx';
import { Section } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { texts } from '../../texts/channels.ts';

type Feedback = NonNullable<ChannelDetails['feedback']>;
type Fact = [string, React.ReactNode];

export function ChannelFeedback({ feedback, reputation }: { feedback: Feedback } & Pick<ChannelDetails, 'reputation'>) {
  const { addresses, mailboxes, last_received_at, last_refused_at, last_refusal } = feedback;
  return (
    <Section title={texts.bouncesAndComplaints}>
      <Stack gap="md">
        {addresses.map(address => (
          <Address key={address.service} {...address} />
        ))}
        {mailboxes.map(mailbox => (
          <Mailbox key={mailbox.mailbox} {...mailbox} />
        ))}
        <Facts
          facts={[
            ...factsOf(reputation),
            [
              texts.lastReceived,
              last_received_at ? <TimeAgo key="received" at={last_received_at} /> : texts.neverReceived,
            ],
            ...(last_refused_at
              ? ([
                  [
                    texts.lastRefused,
                    <span key="refused">
                      <TimeAgo at={last_refused_at} /> ({last_refusal})
                    </span>,
                  ],
                ] as Fact[])
              : []),
          ]}
        />
      </Stack>
    </Section>
  );
}

function factsOf(reputation: ChannelDetails['reputation']): Fact[] {
  if (!reputation) return [];
  const { hours, messages, bounced, complained, bounce_percent, complaint_percent, since } = reputation;
  return [
    [texts.ofMessages(hours), messages.toLocaleString('en')],
    [texts.bounced, texts.rate(bounced.toLocaleString('en'), bounce_percent)],
    [texts.complained, texts.rate(complained.toLocaleString('en'), complaint_percent)],
    ...(since ? ([[texts.countedSince, <TimeAgo key="since" at={since} />]] as Fact[]) : []),
  ];
}

function Mailbox({ mailbox, checked_at, failed_at, error }: Feedback['mailboxes'][number]) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {mailbox}
      </Text>
      <Text size="sm">
        {checked_at ? <TimeAgo at={checked_at} text={texts.mailboxRead} /> : !error && texts.mailboxWaiting}
      </Text>
      <Text size="xs" c="dimmed">
        {texts.mailboxHint}
      </Text>
      {error && failed_at && (
        <Alert color="yellow" p="xs" title={texts.mailboxFailed}>
          {error} (<TimeAgo at={failed_at} />)
        </Alert>
      )}
    </Stack>
  );
}

function Address({ service, url, ready }: Feedback['addresses'][number]) {
  const isMail = service === 'mail';
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {isMail ? texts.mail : service}
      </Text>
      {url ? <CopyText value={url} label={texts.copyTheAddress} /> : <Text size="sm">{texts.addressHidden}</Text>}
      <Text size="xs" c="dimmed">
        {isMail ? texts.mailHint : texts.feedbackHint}
      </Text>
      {!ready && (
        <Alert color="yellow" p="xs">
          {texts.secretMissing}
        </Alert>
      )}
    </Stack>
  );
}
