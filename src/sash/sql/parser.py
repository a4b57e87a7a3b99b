"""The parser, which extends sqlglot's: tables as arguments, CQL's windows, window joins.

TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))
FROM calls [Range 24 Hours Slide 1 Minute]
FROM spine WINDOW JOIN events ON … RANGE BETWEEN '7 days' PRECEDING AND CURRENT ROW
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

CQL = "cql"
"""Where a table's tree keeps the window that is written behind it."""

JOINED = "window join"
"""Where a join's tree keeps its frame."""

WORDS = ("RANGE", "ROWS", "PARTITION", "NOW")


def extended(base: Any) -> Any:
    """A parser of sqlglot's with the words of Sash."""

    class Parser(base):  # type: ignore[misc]
        """A dialect's parser with those words."""

        SUPPORTS_NTH_VALUE_FROM_MODIFIER = True
        FUNC_TOKENS = base.FUNC_TOKENS | {TokenType.SESSION}

        def parse(self, raw_tokens: Any, sql: Any = None) -> Any:
            for token, following in pairwise(raw_tokens):
                if token.token_type == TokenType.WINDOW and (
                    following.token_type == TokenType.L_PAREN
                ):
                    token.token_type = TokenType.VAR  # Spark's function, not the clause
            return super().parse(raw_tokens, sql)

        def _parse_primary(self) -> Any:
            following = self._next
            if (
                self._curr
                and self._curr.token_type == TokenType.TABLE
                and following
                and following.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            ):
                self._advance()
                table = self._parse_table_parts()
                if self._match(TokenType.PARTITION_BY):
                    many = self._curr.token_type == TokenType.L_PAREN
                    one = self._parse_column
                    table.meta["keys"] = self._parse_wrapped_csv(one) if many else [one()]
                return table
            return super()._parse_primary()

        def _is_cql(self) -> bool:
            following = self._next
            return bool(
                self._curr
                and self._curr.token_type == TokenType.L_BRACKET
                and following
                and following.text.upper().split()[0] in WORDS
            )

        def _parse_bracket(self, this: Any = None) -> Any:
            if isinstance(this, exp.Table) and self._is_cql():
                return this
            return super()._parse_bracket(this)

        def _parse_table(self, *given: Any, **named: Any) -> Any:
            table = super()._parse_table(*given, **named)
            if isinstance(table, exp.Table | exp.Subquery) and self._is_cql():
                table.meta[CQL] = self._parse_cql()
                alias = self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS)
                if alias:
                    table.set("alias", alias)
            return table

        def _parse_join(self, *given: Any, **named: Any) -> Any:
            following = self._next
            is_window = (
                self._curr
                and self._curr.token_type == TokenType.WINDOW
                and following
                and following.token_type == TokenType.JOIN
            )
            if not is_window:
                return super()._parse_join(*given, **named)
            self._advance()
            join = super()._parse_join(*given, **named)
            if not self._match_set((TokenType.RANGE, TokenType.ROWS)):
                self.raise_error("Expected RANGE BETWEEN … after WINDOW JOIN … ON …")
            kind = self._prev.text.upper()
            self._match(TokenType.BETWEEN)
            start = self._parse_window_spec()
            end = self._parse_window_spec() if self._match(TokenType.AND) else {}
            join.meta[JOINED] = exp.WindowSpec(
                kind=kind, start=start["value"], start_side=start["side"],
                end=end.get("value"), end_side=end.get("side"),
            )  # fmt: skip
            return join

        def _parse_cql(self) -> dict[str, Any]:
            """A window of CQL: [Partition By k Range 24 Hours Slide 1 Minute]."""
            self._match(TokenType.L_BRACKET)
            found: dict[str, Any] = {"keys": self._parse_partition_by()}
            for word in ("RANGE", "ROWS", "SLIDE"):
                if self._match_text_seq(word):
                    found[word.lower()] = self._parse_length()
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("Expected Range or Rows, then Slide, then ]")
            return found

        def _parse_length(self) -> str:
            """A number, with its unit where it has one, as text."""
            words = []
            while self._curr and self._curr.token_type != TokenType.R_BRACKET:
                if self._curr.text.upper() == "SLIDE":
                    break
                words.append(self._curr.text)
                self._advance()
            return " ".join(words)

    return Parser
