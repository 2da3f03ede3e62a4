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
  const { addresses, last_received_at, last_refused_at, last_refusal } = feedback;
  return (
    <Section title={texts.bouncesAndComplaints}>
      <Stack gap="md">
        {addresses.map(address => (
          <Address key={address.service} {...address} />
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
