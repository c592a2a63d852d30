"""The worlds that come with capscope: in each package, a simulator and its words."""
