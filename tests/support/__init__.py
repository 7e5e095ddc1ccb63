"""What tests of several folders share: servers, projects to run pytest in, pages, made-up data."""
