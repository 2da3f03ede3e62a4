/** Badges for an inactive or paused event or application. */
import { Badge, Tooltip } from '@mantine/core';
import { texts } from '../texts/events.ts';

export function StateBadges({ active = true, paused = false }: { active?: boolean; paused?: boolean }) {
  return (
    <>
      {!active && (
        <Tooltip label={texts.inactiveMeaning}>
          <Badge color="gray" tt="none" variant="default">
            {texts.inactive}
          </Badge>
        </Tooltip>
      )}
      {paused && (
        <Tooltip label={texts.pausedMeaning}>
          <Badge color="yellow" tt="none" variant="default" leftSection={<PauseDot />}>
            {texts.paused}
          </Badge>
        </Tooltip>
      )}
    </>
  );
}

function PauseDot() {
  const dot = 'light-dark(var(--mantine-color-yellow-7), var(--mantine-color-yellow-4))';
  return <span className="dot" style={{ '--dot': dot } as React.CSSProperties} />;
}
