/** The head of every page: where one is, what this is, what can be done here. */
import { Anchor, Box, Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
import { texts } from '../texts/common.ts';

interface PageProps {
  title: string;
  /** Beside the title: a badge, a live dot. */
  aside?: ReactNode;
  description?: ReactNode;
  /** The way up, outermost first. */
  parents?: { label: string; to: string }[];
  actions?: ReactNode;
  /** In the tab of the browser; the title when left out. */
  documentTitle?: string;
  /** As wide as the screen: for pages that are two things beside each other. */
  wide?: boolean;
  children: ReactNode;
}

/** The first page of a visit leaves the focus where the browser put it. */
let visited: string | undefined;

export function Page(props: PageProps) {
  const { title, aside, description, parents = [], actions, documentTitle, wide = false, children } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    // Readers of the screen hear the new page's name, and Tab goes on from its top.
    if (visited !== undefined && visited !== pathname) heading.current?.focus({ preventScroll: true });
    visited = pathname;
  }, [pathname]);

  return (
    <Box maw={wide ? 1840 : 1280} mx="auto" w="100%">
      <title>{texts.belfry(documentTitle ?? title)}</title>
      <Group component="header" justify="space-between" align="flex-start" gap="md" mb="lg" wrap="wrap">
        <Stack gap={2} miw={0}>
          {parents.length > 0 && (
            <Group component="nav" aria-label={texts.breadcrumb} gap={6}>
              {parents.map(({ label, to }) => (
                <Text key={to} size="xs" c="dimmed">
                  <Anchor component={Link} to={to} c="dimmed" inherit>
                    {label}
                  </Anchor>
                  <span aria-hidden> /</span>
                </Text>
              ))}
            </Group>
          )}
          <Group gap="sm" mih={30}>
            <Title order={1} ref={heading} tabIndex={-1} style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
            {aside}
          </Group>
          {description && (
            <Text component="div" c="dimmed" size="sm" maw={720}>
              {description}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  );
}

/** A titled card. */
export function Section({
  title,
  aside,
  children,
  padded = true,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  /** Tables reach to the border. */
  padded?: boolean;
}) {
  return (
    <Box component="section" className="card" aria-label={title}>
      <Group justify="space-between" px="md" py={10} wrap="wrap" gap="xs">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      <Box px={padded ? 'md' : 0} pb={padded ? 'md' : 0}>
        {children}
      </Box>
    </Box>
  );
}
